"""The command ``trueup serve``: the page at localhost."""

import click

from trueup.cli.console import Command
from trueup.cli.options import takes


@click.command(cls=Command)
@takes("host port max-upload open")
def serve(host: str, port: int, max_upload: str, open_page: bool | None) -> None:
    """Open a web page to correct numbers or files.

    Only this machine can reach the page, and it needs no internet.
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
