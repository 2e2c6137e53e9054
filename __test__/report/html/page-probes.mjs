/* global document, getComputedStyle, innerHeight */
// Questions of the tests to a page, within the browser. They are in JavaScript, since the types of the tests are Node's types.

/**
 * In the browser: the width of the content, the tables that scroll sideways, the pictures with the number of their marks, and texts that
 * reach out of their cards.
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
