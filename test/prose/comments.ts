// Finds the comments of a TypeScript or JavaScript source.
import { codeOf } from "../mutations/code-of.ts";

export interface Comment {
  /** Offset of the comment's first character. */
  readonly start: number;
  /** Offset after the comment's last character. A line comment does not include its newline. */
  readonly end: number;
  /** Line of `start`, counted from 1. */
  readonly line: number;
  readonly kind: "line" | "block";
  /** Text without comment marks, one entry per line. */
  readonly lines: readonly string[];
}

type Mark = Omit<Comment, "line" | "lines">;

function marksIn(text: string): readonly Mark[] {
  // In `code`, comments are blank, but the contents of strings, templates and regular expressions are not. So a comment
  // mark whose place is blank in `code` begins a comment.
  const code = codeOf(text);
  const marks: Mark[] = [];
  const opening = /\/\/|\/\*/g;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const start = match.index;
    const kind = match[0] === "//" ? "line" : "block";
    const found = kind === "line" ? text.indexOf("\n", start) : text.indexOf("*/", start) + 2;
    const end = found === -1 ? text.length : found;
    const isComment = code.startsWith("  ", start);
    if (isComment) marks.push({ start, end, kind });
    opening.lastIndex = isComment ? end : start + 1;
  }
  return marks;
}

/** True if the second line comment continues the first: each is on a line without code, with only whitespace between. */
function continues(text: string, first: Mark, second: Mark): boolean {
  const startsLine = ({ start }: Mark): boolean =>
    /^[ \t]*$/.test(text.slice(text.lastIndexOf("\n", start - 1) + 1, start));
  return (
    first.kind === "line" &&
    second.kind === "line" &&
    startsLine(first) &&
    startsLine(second) &&
    /^\n[ \t]*$/.test(text.slice(first.end, second.start))
  );
}

/** Returns the comments of a source in order; adjacent line comments are one comment. */
export function commentsOf(text: string): readonly Comment[] {
  const joined: { first: Mark; last: Mark }[] = [];
  for (const mark of marksIn(text)) {
    const open = joined.at(-1);
    if (open !== undefined && continues(text, open.last, mark)) open.last = mark;
    else joined.push({ first: mark, last: mark });
  }
  return joined.map(({ first, last }) => ({
    start: first.start,
    end: last.end,
    kind: first.kind,
    line: text.slice(0, first.start).split("\n").length,
    lines: text
      .slice(first.start, last.end)
      .replace(/^\/\*\*?|\*\/$/g, "")
      .split("\n")
      .map((line) => line.replace(/^\s*(?:\/\/|\*(?!\*))?\s?/, "").trimEnd()),
  }));
}
