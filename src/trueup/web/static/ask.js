// Talking to the server: JSON in, one event per line out. Leaving stops the computation there.

const MARK = { "X-Trueup": "1" };
export const LOST = { error: "The page cannot reach trueup.", hint: "is “trueup serve” still running?", field: null };

export async function send(method, path, { body, headers = {}, signal, keepalive } = {}) {
  const json = body !== undefined && !(body instanceof Blob);
  let response;
  try {
    response = await fetch(path, {
      method, signal, keepalive,
      body: json ? JSON.stringify(body) : body,
      headers: { ...MARK, ...(json ? { "Content-Type": "application/json" } : {}), ...headers },
    });
  } catch (error) {
    throw error.name === "AbortError" ? error : LOST;
  }
  if (!response.ok) throw await response.json().catch(() => LOST);
  return response;
}

// Calls `on` for each event; throws the problem if one comes.
export async function events(path, body, { signal, headers, on }) {
  const response = await send("POST", path, { body, signal, headers });
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      throw error.name === "AbortError" ? error : LOST;
    }
    text += part.value ? decoder.decode(part.value, { stream: true }) : "";
    let end;
    while ((end = text.indexOf("\n")) >= 0) {
      const event = JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
      if (event.error) throw event;
      on(event);
    }
    if (part.done) return;
  }
}
