"""The command ``trueup serve``: the page at localhost."""

import click

from trueup.cli.console import Command


@click.command(cls=Command)
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, help="Or the next free port.")
@click.option("--max-upload", default="200MB", help="The largest file.")
@click.option("--open/--no-open", "open_page", default=None, help="Open it in the browser.")
def serve(host: str, port: int, max_upload: str, open_page: bool | None) -> None:
    """Open a page where numbers or files can be corrected without any code.

    It is for this machine only, and needs no internet.
    """
    from trueup.errors import OptionError

    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise OptionError(
            f"The page needs {error.name}, which is not installed.",
            hint="pip install 'trueup[web]'",
        ) from None
    from trueup.web.limits import parse_size
    from trueup.web.run import can_open, serve

    opens = can_open() if open_page is None else open_page
    serve(host=host, port=port, max_upload=parse_size(max_upload), open_page=opens)
