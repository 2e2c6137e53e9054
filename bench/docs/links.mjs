/** The links of pages to files of this repository, and the headings that they name. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The relative links of a page whose file or heading does not exist. */
export function brokenLinks(path) {
  const prose = withoutCode(readFileSync(path, 'utf8'));
  const targets = [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target]) => target);
  return targets.flatMap((target) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [file, anchor] = target.split('#');
    const resolved = file === '' ? path : join(dirname(path), file);
    if (!existsSync(resolved)) return [`${target}: no such file`];
    if (anchor === undefined || anchorsOf(resolved).has(anchor)) return [];
    return [`${target}: no such heading`];
  });
}

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(path) {
  const anchors = new Set();
  for (const [, title] of withoutCode(readFileSync(path, 'utf8')).matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

function withoutCode(page) {
  return page.replaceAll(/^```[^]*?^```$/gm, '');
}
