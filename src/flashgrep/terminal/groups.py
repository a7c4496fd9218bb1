"""A group of commands that knows all its names before it imports them."""

from __future__ import annotations

import click


class HintingGroup(click.Group):
    """Refuses a name that is none of its commands with those that are spelled alike.

    click looks for them only among the commands that are imported already, and since 8.4.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        is_option = name.startswith("-")
        if not is_option and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}.{_hint(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def _hint(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # seldom needed, and every command would wait for it

    near = get_close_matches(name, known)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
