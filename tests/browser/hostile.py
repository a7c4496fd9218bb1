"""A hundred strings that try to run a script where text is shown.

Each calls `fired`, which tests make an error in the console. The kinds are those that every list
of such strings has: tags, handlers, addresses, encodings, Markdown, markup that ends early.
"""

from __future__ import annotations

FIRE = "fired()"

_TAGS = (
    f"<script>{FIRE}</script>",
    f"<SCRIPT>{FIRE}</SCRIPT>",
    f"<scr<script>ipt>{FIRE}</scr</script>ipt>",
    f"<script\n>{FIRE}</script >",
    f"<script/x>{FIRE}</script>",
    f'<script src="data:text/javascript,{FIRE}"></script>',
    f'<script type="module">{FIRE}</script>',
    f"<script>{FIRE}//",
    f"</title><script>{FIRE}</script>",
    f"</textarea><script>{FIRE}</script>",
    f"</style><script>{FIRE}</script>",
    f"--><script>{FIRE}</script><!--",
    f"]]><script>{FIRE}</script>",
    f"<noscript><p title='</noscript><img src=x onerror={FIRE}>'>",
    f"<svg><script>{FIRE}</script></svg>",
    f"<svg><script href='data:text/javascript,{FIRE}'/></svg>",
    f"<math><mtext><script>{FIRE}</script></mtext></math>",
    f"<template><script>{FIRE}</script></template>",
    f"<iframe srcdoc='<script>parent.{FIRE}</script>'></iframe>",
    f"<iframe src='javascript:parent.{FIRE}'></iframe>",
    f"<object data='javascript:{FIRE}'></object>",
    f"<object data='data:text/html,<script>{FIRE}</script>'></object>",
    f"<embed src='javascript:{FIRE}'>",
    f"<base href='javascript:{FIRE}//'>",
    f"<meta http-equiv=refresh content='0;url=javascript:{FIRE}'>",
    f"<link rel=stylesheet href='javascript:{FIRE}'>",
    f"<form action='javascript:{FIRE}'><input type=submit autofocus></form>",
    f"<form><button formaction='javascript:{FIRE}'>press</button></form>",
)
_HANDLERS = tuple(
    tag.format(FIRE)
    for tag in (
        "<img src=x onerror={}>",
        "<img src=x onerror='{}'>",
        '<img src="x" OnErRoR="{}">',
        "<img/src=x/onerror={}>",
        "<img src=x:x onerror\n=\n{}>",
        "<img src=x onerror=&#102;ired()>",
        '"><img src=x onerror={}>',
        "'><img src=x onerror={}>",
        "`><img src=x onerror={}>",
        "' onmouseover='{}",
        '" autofocus onfocus="{}',
        "<svg onload={}>",
        "<svg/onload={}>",
        "<svg><animate onbegin={} attributeName=x dur=1s>",
        "<svg><a xlink:href='javascript:{}'><text>go</text></a></svg>",
        "<svg><set onbegin={}>",
        "<body onload={}>",
        "<body onpageshow={}>",
        "<input autofocus onfocus={}>",
        "<select autofocus onfocus={}>",
        "<textarea autofocus onfocus={}>",
        "<details open ontoggle={}>",
        "<video><source onerror={}></video>",
        "<video src=x onerror={}>",
        "<audio src=x onerror={}>",
        "<marquee onstart={}>",
        "<div onpointerenter={}>over</div>",
        "<div style='animation-name:x' onanimationstart={}>x</div>",
        "<style>@keyframes x{{}}</style><b style='animation:x' onanimationend={}>x</b>",
        "<p tabindex=1 onfocus={}>focus</p>",
        "<a onclick={} href='#'>click</a>",
        "<keygen autofocus onfocus={}>",
        "<dialog open onclose={}>x</dialog>",
    )
)
_ADDRESSES = tuple(
    link.format(FIRE)
    for link in (
        "[go](javascript:{})",
        "[go](JaVaScRiPt:{})",
        "[go](java\tscript:{})",
        "[go](&#106;avascript:{})",
        "[go](javascript&colon;{})",
        "[go](<javascript:{}>)",
        "[go]( javascript:{})",
        "[go](\\javascript:{})",
        "[go](vbscript:{})",
        "[go](data:text/html,<script>{}</script>)",
        "[go](data:text/html;base64,PHNjcmlwdD5maXJlZCgpPC9zY3JpcHQ+)",
        "[go](//evil.example/%0ajavascript:{})",
        "[go](javascript://evil.example/%0a{})",
        "[go][x]\n\n[x]: javascript:{}",
        '[go](https://evil.example "onmouseover={}")',
        '[go](x "\' onclick={} ")',
        "![x](javascript:{})",
        '![x](x "\' onerror={}")',
        "![x' onerror='{}](x)",
        "![x](data:image/svg+xml,<svg onload={}>)",
        "<javascript:{}>",
        "[[javascript:{}]]",
        "[[<img src=x onerror={}>]]",
        "[[x|<script>{}</script>]]",
        "[^x]: <script>{}</script>\n\nnote[^x]",
    )
)
_TEXTS = (
    f"{{{{constructor.constructor('{FIRE}')()}}}}",
    f"${{{FIRE}}}",
    f"<%= {FIRE} %>",
    f"`{FIRE}`<script>{FIRE}</script>`",
    f"```html\n<script>{FIRE}</script>\n```",
    f"    <script>{FIRE}</script>",
    f"| <script>{FIRE}</script> |\n|---|\n| <img src=x onerror={FIRE}> |",
    f"# <script>{FIRE}</script>",
    f"> <img src=x onerror={FIRE}>",
    f"- [ ] <svg onload={FIRE}>",
    f"{{++<script>{FIRE}</script>++}}",
    f"{{--<img src=x onerror={FIRE}>--}}",
    f"{{>><svg onload={FIRE}><<}}",
    f"{{==<b onclick={FIRE}>x</b>==}}",
)
HOSTILE = (*_TAGS, *_HANDLERS, *_ADDRESSES, *_TEXTS)
"""All of them."""
