// Reduces a TypeScript source to its code. Replaces comments, and the contents of strings, templates and regular
// expressions, by fillers of the same length, so that everything else keeps its position. Relies on the formatter's
// style instead of a full grammar.

/** Matches code after which a slash starts a regular expression. After other code, a slash is a division. */
const beforeExpression = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of))\s*$/;

/**
 * Returns the source with fillers: letters in strings, spaces in comments. The result has the same length and the same
 * line breaks.
 */
export function codeOf(source: string): string {
  const code = source.split("");
  /** For each open template, the number of open braces in its innermost `${`. */
  const templates: number[] = [];
  const blank = (from: number, to: number, filler: string): void => {
    for (let at = from; at < to; at++) if (code[at] !== "\n") code[at] = filler;
  };
  let at = 0;
  const skipTo = (end: number, from: number, filler: string): void => {
    blank(from, end, filler);
    at = end;
  };
  const template = (from: number): void => {
    const { end, isOver } = templatePart(source, from);
    blank(from, end, "_");
    if (isOver) templates.pop();
    at = end + (isOver ? 1 : 2);
  };
  while (at < source.length) {
    const pair = source.slice(at, at + 2);
    const character = source[at];
    const innermost = templates.length - 1;
    if (pair === "//") skipTo(lineEnd(source, at), at, " ");
    else if (pair === "/*") skipTo(source.indexOf("*/", at) + 2, at, " ");
    else if (character === '"' || character === "'") {
      skipTo(closing(source, at + 1, character), at + 1, "_");
      at += 1;
    } else if (character === "`") {
      templates.push(0);
      template(at + 1);
    } else if (character === "}" && templates[innermost] === 0) template(at + 1);
    else if (character === "/" && beforeExpression.test(code.slice(Math.max(0, at - 20), at).join(""))) {
      skipTo(expressionEnd(source, at + 1), at + 1, "_");
      at += 1;
    } else {
      if (innermost >= 0 && character === "{") templates[innermost] += 1;
      if (innermost >= 0 && character === "}") templates[innermost] -= 1;
      at += 1;
    }
  }
  return code.join("");
}

function lineEnd(source: string, from: number): number {
  const end = source.indexOf("\n", from);
  return end === -1 ? source.length : end;
}

/**
 * Returns the position of the unescaped closing quote. If the line has none, returns its end: an apostrophe in JSX text
 * opens no string.
 */
function closing(source: string, from: number, mark: string): number {
  let at = from;
  while (at < source.length && source[at] !== mark && source[at] !== "\n") at += source[at] === "\\" ? 2 : 1;
  return at;
}

/**
 * Returns the position of the slash that ends a regular expression, or of the line's end. A slash within brackets does
 * not end it.
 */
function expressionEnd(source: string, from: number): number {
  let at = from;
  let isClass = false;
  while (at < source.length && source[at] !== "\n" && (isClass || source[at] !== "/")) {
    if (source[at] === "[") isClass = true;
    if (source[at] === "]") isClass = false;
    at += source[at] === "\\" ? 2 : 1;
  }
  return at;
}

/** Returns where a template's text ends: at the end of the template, or at the next `${`. */
function templatePart(source: string, from: number): { readonly end: number; readonly isOver: boolean } {
  let at = from;
  while (at < source.length) {
    if (source[at] === "`") return { end: at, isOver: true };
    if (source.startsWith("${", at)) return { end: at, isOver: false };
    at += source[at] === "\\" ? 2 : 1;
  }
  return { end: at, isOver: true };
}
