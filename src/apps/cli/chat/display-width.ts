// Measures and wraps text in terminal cells, based on Unicode's East Asian Width (UAX 11). Measures graphemes, so an
// emoji of several code points counts once.

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Characters two cells wide: CJK, Hangul, kana, full-width forms, emoji. */
const wide =
  /^(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}\u{fe0f}|[\u{1100}-\u{115f}\u{2e80}-\u{303e}\u{3041}-\u{33ff}\u{3400}-\u{4dbf}\u{4e00}-\u{9fff}\u{a000}-\u{a4cf}\u{a960}-\u{a97f}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe30}-\u{fe6f}\u{ff00}-\u{ff60}\u{ffe0}-\u{ffe6}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}])/u;
/** Graphemes of zero width: combining marks and format characters without a base character. */
const narrowest = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/**
 * Matches control characters other than line breaks. A model's answer may contain any of them, even codes that clear
 * the terminal.
 */
const controls = /(?!\n)\p{Cc}/gu;

/** Removes control characters other than line breaks, and replaces tabs with spaces. */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").replaceAll(controls, "");
}

/** Returns the width in cells of a text without control characters. */
export function displayWidth(text: string): number {
  // The segmenter is slow, and most texts need none.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (narrowest.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

/** Cuts a text without control characters to a width in cells; a cut text ends with `…`. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  let cells = 1;
  for (const { segment } of segmenter.segment(text)) {
    cells += graphemeWidth(segment);
    if (cells > width) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Pads the text with spaces to a width. */
export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/**
 * Splits text into lines of at most `width` cells, broken at spaces; only a word longer than a line is broken within.
 */
export function wrapped(text: string, width: number): readonly string[] {
  return text.split("\n").flatMap((line) => wrappedLine(line, Math.max(2, width)));
}

function wrappedLine(line: string, width: number): readonly string[] {
  const lines: string[] = [];
  let current = "";
  let cells = 0;
  for (const word of line.split(/(?<= )/)) {
    const wordWidth = displayWidth(word.trimEnd());
    if (cells > 0 && cells + wordWidth > width) {
      lines.push(current.trimEnd());
      [current, cells] = ["", 0];
    }
    for (const { segment } of segmenter.segment(word)) {
      const size = graphemeWidth(segment);
      if (cells + size > width) {
        // Drops a space that would begin a new line.
        if (segment === " ") continue;
        lines.push(current);
        [current, cells] = ["", 0];
      }
      current += segment;
      cells += size;
    }
  }
  return [...lines, current.trimEnd()];
}
