/* Search from a folder, without a server: browsers start no worker for a file:// page, so the
   search script runs in a hidden frame of the page itself, with the few names a worker has. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      const inside = frame.contentWindow
      const load = src =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script")
          Object.assign(script, { src, onload: done, onerror: failed })
          inside.document.body.appendChild(script)
        })
      const deliver = data => inside.dispatchEvent(new MessageEvent("message", { data }))
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...sources) =>
        sources.reduce((before, src) => before.then(() => load(src)), Promise.resolve())
      this.postMessage = data => waiting.push(data)
      this.terminate = () => frame.remove()
      load(url).then(() => {
        this.postMessage = data => setTimeout(() => deliver(data))
        waiting.forEach(this.postMessage)
      })
    }
  }
}
