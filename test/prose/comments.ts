// Finds the comments of a TypeScript or JavaScript source without parsing it. Strings, templates and regular
// expressions are skipped, so `"//"` is not a comment.

export interface Comment {
  /** Offset of the first character; for line comments, of the first `//`. */
  readonly start: number;
  /** Offset after the last character, without a line comment's newline. */
  readonly end: number;
  /** Line of `start`, counted from 1. */
  readonly line: number;
  readonly kind: "line" | "block";
  /** Text without comment marks, one entry per line. */
  readonly lines: readonly string[];
}

type Mark = Omit<Comment, "line" | "lines">;

const regexBefore =
  /(?:^|[([{,;=:!&|?+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|yield|await|throw|new|delete))$/;
const token =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`|\$\{|[{}]|\/|\s+|\w+|[^\s\w]/y;
const regex = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/y;
const templateText = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*/y;

function scan(text: string): readonly Mark[] {
  const marks: Mark[] = [];
  /** One entry per open brace; true for the brace of a template's `${`. */
  const braces: boolean[] = [];
  let before = "";
  let at = 0;
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? "";
  };
  /** Skips a template's text up to its end or its next `${`. */
  const skipTemplate = (): void => {
    at += match(templateText).length;
    if (text.startsWith("${", at)) {
      braces.push(true);
      at += 2;
      before = "{";
    } else {
      at += 1;
      before = "`";
    }
  };
  while (at < text.length) {
    const part = match(token);
    const start = at;
    at += part.length;
    if (part.startsWith("//") || part.startsWith("/*")) {
      marks.push({ start, end: at, kind: part.startsWith("//") ? "line" : "block" });
    } else if (part === "/" && regexBefore.test(before)) {
      at = start;
      at += match(regex).length || 1;
      before = "/";
    } else if (part === "`") {
      skipTemplate();
    } else if (part === "}" && braces.pop() === true) {
      skipTemplate();
    } else if (part.trim() !== "") {
      if (part === "{") braces.push(false);
      before = part;
    }
  }
  return marks;
}

/** True if only whitespace stands between two line comments, each on a line of its own. */
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
  for (const mark of scan(text)) {
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
