/* global DOMPoint, document, getComputedStyle, innerHeight */
// Questions of the tests to a page, within the browser. They are in JavaScript, since the types of the tests are Node's types.

/**
 * In the browser: the width of the content, the tables that scroll sideways, the pictures with the number of their
 * marks, and texts that reach out of their cards.
 */
export function measurePage() {
  for (const details of document.querySelectorAll('details')) details.open = true;
  const pictures = [...document.querySelectorAll('figure > svg')].map((svg) => ({
    width: svg.getBoundingClientRect().width,
    marks: svg.querySelectorAll('path, circle, rect, line').length,
  }));
  const outside = [...document.querySelectorAll('figure svg text')].flatMap((text) => {
    const [inner, card] = [text.getBoundingClientRect(), text.closest('figure').getBoundingClientRect()];
    return inner.left < card.left || inner.right > card.right + 1 ? [text.textContent] : [];
  });
  // The table of all records keeps the headings that sort it.
  const scrolling = [...document.querySelectorAll('.scroll:not(:has(#records))')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map((box) => box.textContent.slice(0, 80));
  return { content: document.documentElement.scrollWidth, scrolling, pictures, outside };
}

/**
 * In the browser: what makes the texts of a picture unreadable. Two texts that overlap, or a text that a line or a dot
 * crosses. The lines of the scale may go behind a text: they are drawn before it.
 */
export function labelFaults() {
  for (const details of document.querySelectorAll('details')) details.open = true;
  // The text that is drawn, without the text that the pointer over it shows.
  const shown = (text) =>
    [...text.childNodes]
      .filter(({ nodeName }) => nodeName !== 'title')
      .map(({ textContent }) => textContent)
      .join(' ');
  const boxOf = (element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return { left: left + 1, right: right - 1, top: top + 2, bottom: bottom - 2 };
  };
  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const pointsOf = (path) => {
    const [length, matrix] = [path.getTotalLength(), path.getScreenCTM()];
    const steps = Math.max(1, Math.ceil(length / 2));
    return Array.from({ length: steps + 1 }, (_, step) => {
      return path.getPointAtLength((length * step) / steps).matrixTransform(matrix);
    });
  };
  const isOn = (point, box) => point.x > box.left && point.x < box.right && point.y > box.top && point.y < box.bottom;
  return [...document.querySelectorAll('figure > svg')].flatMap((svg) => {
    const title = svg.getAttribute('aria-label');
    const texts = [...svg.querySelectorAll('text')].filter((text) => shown(text).trim() !== '');
    const boxes = texts.map((text) => ({ text: shown(text), box: boxOf(text) }));
    const twins = boxes.flatMap((a, index) =>
      boxes
        .slice(index + 1)
        .flatMap((b) => (overlap(a.box, b.box) ? [`${title}: "${a.text}" lies on "${b.text}"`] : [])),
    );
    // A leader ends where its name begins.
    const lines = [
      ...svg.querySelectorAll('g.line path, path.line, g.link path, g.link line, g.dot path, g.dot circle'),
    ];
    const crossed = lines.flatMap((line) => {
      const points = line.getTotalLength === undefined ? [] : pointsOf(line);
      return boxes.flatMap(({ text, box }) =>
        points.some((point) => isOn(point, box)) ? [`${title}: a line lies on "${text}"`] : [],
      );
    });
    return [...new Set([...twins, ...crossed])];
  });
}

/** In the browser: draws a text on the first text of the first picture. */
export function plantOverlap() {
  const texts = document.querySelectorAll('figure > svg text');
  const svg = texts[0].closest('svg');
  const copy = texts[0].cloneNode(true);
  copy.textContent = 'planted';
  svg.append(copy);
  const [wanted, planted] = [texts[0], copy].map((text) => text.getBoundingClientRect());
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const move = `translate(${(wanted.left - planted.left) / scale},${(wanted.top - planted.top) / scale})`;
  copy.setAttribute('transform', `${move} ${copy.getAttribute('transform') ?? ''}`);
}

/** In the browser: draws a line through the first text of the first picture. */
export function plantLine() {
  const text = document.querySelector('figure > svg text');
  const svg = text.closest('svg');
  const { left, top, height } = text.getBoundingClientRect();
  const start = new DOMPoint(left, top + height / 2).matrixTransform(svg.getScreenCTM().inverse());
  const group = document.createElementNS(svg.namespaceURI, 'g');
  group.setAttribute('class', 'line');
  const path = document.createElementNS(svg.namespaceURI, 'path');
  path.setAttribute('d', `M${start.x} ${start.y}h100`);
  group.append(path);
  svg.append(group);
}

/** In the browser: the texts of the answer that a screen shows only after a scroll, and texts that their boxes cut. */
export function foldFaults() {
  const below = [...document.querySelectorAll('#answer .answer > li, #answer tbody tr')].slice(0, 1).flatMap((item) => {
    return item.getBoundingClientRect().bottom > innerHeight ? [`below the fold: ${item.textContent}`] : [];
  });
  const cut = [...document.querySelectorAll('h1, h2, h3, p, li, figcaption, nav a')].flatMap((element) => {
    return element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline'
      ? [`cut: ${element.textContent.slice(0, 80)}`]
      : [];
  });
  return [...below, ...cut];
}

/** In the browser: the contrast of each text with its background, as WCAG 2 defines it. */
export function contrastsOf() {
  const luminance = (color) => {
    const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((part) => {
      const value = Number(part) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const backgroundOf = (element) => {
    if (element === null) return 'rgb(255, 255, 255)';
    const { backgroundColor } = getComputedStyle(element);
    return backgroundColor === 'rgba(0, 0, 0, 0)' ? backgroundOf(element.parentElement) : backgroundColor;
  };
  return [...document.querySelectorAll('p, li, h1, h2, h3, td, th, a, figcaption, figure svg text')].map((element) => {
    const style = getComputedStyle(element);
    const color = element.closest('svg') === null ? style.color : style.fill;
    const [a, b] = [luminance(color), luminance(backgroundOf(element.closest('svg') ?? element))];
    return { text: element.textContent, contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) };
  });
}

/** Whether the row that the address names is in view. */
export function isTargetSeen() {
  const { top, bottom } = document.querySelector('tr:target').getBoundingClientRect();
  // Scrolling stops at whole pixels.
  return top > -1 && bottom < innerHeight + 1;
}

/** Whether this number of records is shown. */
export function areShown(count) {
  return document.querySelectorAll('#records tbody tr:not([hidden])').length === count;
}

export function focusFirstLink() {
  document.querySelector('#lanes svg a').focus();
}

/** The colour of the paper. */
export function paperColor() {
  return getComputedStyle(document.documentElement).getPropertyValue('--paper');
}

/** Whether the focused element is in view. */
export function isFocusSeen() {
  const { left, width, top } = document.activeElement.getBoundingClientRect();
  return left >= 0 && top >= 0 && width > 0;
}

export function isFocusInContent() {
  return document.activeElement.closest('main') !== null;
}

/** The faults that axe finds, once its script is there: the rule and the elements that break it. */
export async function faultsByAxe() {
  const { violations } = await globalThis.axe.run();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join('\n')}`);
}
