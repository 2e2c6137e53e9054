/** The style of pages and of pictures. */

const LIGHT = `--paper:#fff;--ink:#1c1e21;--quiet:#5b6168;--grid:#e3e6ea;--card:#f6f7f9;--link:#0b5cad;--focus:#0b5cad;
--rust:#c2410c;--napi:#1d6fb8;--js:#0a7f5a;--encode:#c9a227;--thread:#7b4ab8;--others:#3f9c9c;--server:#a9adb4;--decode:#d98ac0;--bad:#c81e1e`;
const DARK = `--paper:#16181c;--ink:#e6e8eb;--quiet:#a3a9b2;--grid:#30343b;--card:#1e2126;--link:#7db8f5;--focus:#7db8f5;
--rust:#ff8a5c;--napi:#6db3f2;--js:#4fd1a5;--encode:#dcb93c;--thread:#b48cf0;--others:#5fc4c4;--server:#7c828b;--decode:#e8a3d2;--bad:#ff6b5e`;

/** The colours by the scheme that the reader's system asks for. On paper always the light ones. */
const COLORS = `:root{color-scheme:light dark;${LIGHT}}
@media screen and (prefers-color-scheme:dark){:root{${DARK}}}`;

/** The light colours, by their names. */
const COLOR_OF: Readonly<Record<string, string>> = Object.fromEntries(
  LIGHT.replaceAll('\n', '')
    .split(';')
    .map((declared) => declared.slice('--'.length).split(':') as [string, string]),
);

/** A picture that stands alone with the light colours instead of variables, for programs that do not know those. */
export function withPlainColors(svg: string): string {
  return svg.replaceAll(/var\(--([a-z]+)\)/g, (_, name: string) => COLOR_OF[name]!);
}

/**
 * The style within a picture that stands alone: it has its own background, since a page shows it in either scheme. Its
 * colours are plain, and the style replaces them by the variables.
 */
export const PICTURE_STYLE = `${COLORS}
${Object.entries(COLOR_OF)
  .map(([name, color]) => `[fill="${color}"]{fill:var(--${name})}[stroke="${color}"]{stroke:var(--${name})}`)
  .join('\n')}
text{white-space:pre}
svg{color:var(--ink)}`;

export const PAGE_STYLE = `${COLORS}
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1rem 1rem 4rem;max-width:1400px;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:.2rem 0}h2{font-size:1.3rem;margin:2.2rem 0 .4rem}h3{font-size:1.05rem;margin:1.4rem 0 .4rem}
a{color:var(--link)}
:focus-visible{outline:2px solid var(--focus);outline-offset:2px}
.skip{position:absolute;left:-100rem;padding:.3rem .6rem;background:var(--paper)}.skip:focus{left:1rem;top:.5rem}main:focus{outline:none}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin:.6rem 0}
p,li{max-width:75ch}ul{padding-left:1.2rem}.answer li{margin:.35rem 0}
.quiet{color:var(--quiet);font-size:.9rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;padding:0;margin:.4rem 0;list-style:none;font-size:.9rem}
.legend svg{width:1em;height:1em;vertical-align:-.12em;margin-right:.35em}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,360px),1fr));gap:1rem;align-items:start}
figure{margin:0;padding:.6rem .7rem;background:var(--card);border-radius:8px;break-inside:avoid}
figure svg{display:block;width:100%;height:auto;max-width:480px;overflow:visible}
figure svg text{white-space:pre}
figure svg a:hover text,figure svg a:focus text{text-decoration:underline}
figcaption{font-weight:600;font-size:.95rem;margin-bottom:.3rem}
figcaption small{display:block;font-weight:400;color:var(--quiet)}
.sides th,.sides td{vertical-align:middle;white-space:nowrap}.sides .bar{display:block;width:100%;min-width:70px;height:8px;margin-top:2px}
.filters{display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:end;margin:.6rem 0}
.filters label{display:flex;flex-direction:column;font-size:.85rem;color:var(--quiet)}
input,select,button{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--quiet);border-radius:5px;padding:.25rem .5rem;max-width:100%}
.scroll{overflow-x:auto;max-width:100%;margin:.6rem 0}
table{border-collapse:collapse;font-size:.85rem;width:100%}
th,td{text-align:left;vertical-align:top;padding:.25rem .5rem;border-bottom:1px solid var(--grid);overflow-wrap:normal}
td.number,th.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
th button{border:0;padding:0;background:none;font-weight:600;cursor:pointer;text-align:inherit}
th[aria-sort=ascending] button::after{content:" ▲"}th[aria-sort=descending] button::after{content:" ▼"}
tr:target{background:var(--card);outline:2px solid var(--focus)}
details{margin:.5rem 0}summary{cursor:pointer}
@media (max-width:1100px){.sides th,.sides td,td.number,th.number{white-space:normal}}
@media (max-width:900px){.wide{display:none}td,th{padding:.25rem .3rem}body{padding:.7rem .7rem 3rem}
.stacks thead th:not(:first-child){position:absolute;left:-100rem}
.stacks tr{display:grid;grid-template-columns:repeat(3,1fr);border-bottom:1px solid var(--grid)}
.stacks th,.stacks td,.stacks td.number{border:0;text-align:left;white-space:normal;overflow-wrap:anywhere}
.stacks :is(th,td):first-child,.stacks .verdict{grid-column:1/-1}
.stacks td:first-child{font-weight:600}
.stacks td:not(:first-child)::before{content:attr(data-of);display:block;color:var(--quiet)}
.stacks td.verdict::before{content:attr(data-of) ": ";display:inline}}
@media print{body{max-width:none;padding:0}nav,.filters{display:none}.figures{grid-template-columns:1fr 1fr}figure{background:none;border:1px solid var(--grid)}
.scroll{overflow:visible}table{font-size:.7rem}a{color:inherit;text-decoration:none}}`;
