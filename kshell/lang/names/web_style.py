"""The look of the pages that the port serves."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--ink:#1d2733;--faint:#66727f;--paper:#fff;--pane:#f4f6f8;--rule:#d8dee4;--link:#024c7e}
@media(prefers-color-scheme:dark){:root{--ink:#dfe6ed;--faint:#93a0ad;--paper:#14191f;--pane:#1b222a;--rule:#323c47;
--link:#7fc1f0}}
*{box-sizing:border-box}
body{margin:0;padding:1rem;color:var(--ink);background:var(--paper);font:15px/1.5 system-ui,sans-serif}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
pre,code,input,button{font:14px/1.5 ui-monospace,Menlo,Consolas,monospace}
pre{margin:0;overflow:auto;white-space:pre}
h2{margin:1.2rem 0 .3rem;font-size:12px;font-weight:600;letter-spacing:.06em;text-transform:uppercase;
color:var(--faint)}
h2:first-child{margin-top:0}
ul{margin:0;padding:0;list-style:none}li{overflow-wrap:anywhere}small{color:var(--faint)}
.list{background:var(--pane)}
.page{display:grid;grid-template:auto 1fr/16rem 1fr;height:100vh;padding:0}
header{grid-column:1/3;display:flex;gap:1rem;align-items:center;padding:.6rem 1rem;border-bottom:1px solid var(--rule)}
header b{font-size:1.05rem}
form{display:flex;flex:1;gap:.5rem}
input{flex:1;min-width:0;padding:.35rem .6rem;color:inherit;background:var(--paper);border:1px solid var(--rule);
border-radius:6px}
button{padding:.35rem .9rem;color:inherit;background:var(--pane);border:1px solid var(--rule);border-radius:6px;
cursor:pointer}
iframe{width:100%;height:100%;border:0}iframe:first-of-type{border-right:1px solid var(--rule)}
nav{margin-bottom:.6rem;color:var(--faint)}
@media(max-width:40rem){.page{grid-template:auto 10rem 1fr/1fr}header{grid-column:1;flex-wrap:wrap}
iframe:first-of-type{border-right:0;border-bottom:1px solid var(--rule)}}
"""


def document(title: str, body: str, kind: str = "") -> str:
    """A page of HTML around a body; the title is text already escaped."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<style>{STYLE}</style></head><body class="{kind}">{body}</body></html>'
    )
