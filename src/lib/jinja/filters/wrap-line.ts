// Wraps one line to a width, like Python's textwrap without whitespace replacement.

export interface WrapOptions {
  readonly width: number;
  readonly breaksWords: boolean;
  readonly breaksHyphens: boolean;
}

/** Returns the wrapped lines, without trailing blanks, and without leading blanks except on the first line. */
export function wrapLine(text: string, options: WrapOptions): readonly string[] {
  const chunks = chunksOf(text, options.breaksHyphens).reverse();
  const lines: string[] = [];
  while (chunks.length > 0) {
    if (chunks[chunks.length - 1].trim() === "" && lines.length > 0) chunks.pop();
    const line = takeLine(chunks, options);
    if (line.length > 0) lines.push(line.join(""));
  }
  return lines;
}

/** Removes the chunks that fit on a line from the end of `chunks`, and returns the line. */
function takeLine(chunks: string[], { width, breaksWords, breaksHyphens }: WrapOptions): string[] {
  const line: string[] = [];
  let length = 0;
  while (chunks.length > 0 && length + chunks[chunks.length - 1].length <= width) {
    const chunk = chunks.pop() ?? "";
    line.push(chunk);
    length += chunk.length;
  }
  const next = chunks.at(-1);
  if (next !== undefined && next.length > width) {
    const room = width < 1 ? 1 : width - length;
    if (breaksWords) {
      const hyphen = breaksHyphens && next.length > room ? next.lastIndexOf("-", room - 1) : -1;
      const end = hyphen > 0 && /[^-]/.test(next.slice(0, hyphen)) ? hyphen + 1 : room;
      line.push(next.slice(0, end));
      chunks[chunks.length - 1] = next.slice(end);
    } else if (line.length === 0) line.push(chunks.pop() ?? "");
  }
  if (line.length > 0 && (line.at(-1) ?? "").trim() === "") line.pop();
  return line;
}

/** Splits a text into words, blanks, and parts of words that end in a hyphen. */
function chunksOf(text: string, breaksHyphens: boolean): string[] {
  const words = text.split(/([\t-\r ]+)/).filter(Boolean);
  if (!breaksHyphens) return words;
  return words.flatMap((word) => word.split(/(?<=[\p{L}\p{N}_][\p{L}_]?-)(?=[\p{L}_])/u));
}
