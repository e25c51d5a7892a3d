// Splits Markdown and comments into pieces of prose: headings, paragraphs, list items and table cells. Omits code.
import { commentsOf } from "./comments.ts";

export interface Piece {
  /** Line in the file, counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** Replaces code, links, addresses and long lists of names by single words, so that only prose remains. */
function plain(text: string): string {
  return text
    .replace(/``[^`]+``|`[^`]*`/g, "code")
    .replace(/\bcode(?:, code){4,}\b/g, "code")
    .replace(/!\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/<!--[\s\S]*?-->|<\/?[a-z][^>]*>/g, "")
    .replace(/https?:\/\/\S+/g, "address")
    .replace(/(\*\*|__)(.*?)\1/g, "$2")
    .replace(/\s+/g, " ")
    .trim();
}

/** Returns the pieces of a Markdown text in order. */
export function markdownPieces(markdown: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let open: { line: number; parts: string[] } | null = null;
  let fence: string | null = null;
  const close = (): void => {
    if (open !== null) pieces.push({ line: open.line, text: plain(open.parts.join(" ")) });
    open = null;
  };
  const lines = markdown.replace(/<!--[\s\S]*?-->/g, (comment) => comment.replace(/[^\n]/g, " ")).split("\n");
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim();
    const mark = /^(?:`{3,}|~{3,})/.exec(line)?.[0];
    if (fence !== null) {
      if (mark !== undefined && mark.startsWith(fence)) fence = null;
      continue;
    }
    if (mark !== undefined) {
      close();
      fence = mark;
    } else if (line === "" || /^[-=]{3,}$/.test(line)) {
      close();
    } else if (line.startsWith("|")) {
      close();
      if (!/^[|:\s-]+$/.test(line)) {
        for (const cell of line.split(/(?<!\\)\|/)) pieces.push({ line: index + 1, text: plain(cell) });
      }
    } else if (/^(?:#+|[*+-]|\d+\.)\s/.test(line)) {
      close();
      open = { line: index + 1, parts: [line.replace(/^(?:#+|[*+-]|\d+\.)\s+/, "")] };
      if (line.startsWith("#")) close();
    } else {
      open ??= { line: index + 1, parts: [] };
      open.parts.push(line.replace(/^>\s?/, ""));
    }
  }
  close();
  return pieces.filter(({ text }) => text !== "");
}

/** Returns the pieces of one comment: its text, each of its JSDoc tags, and each item of a list in it. */
function commentPieces(comment: {
  readonly line: number;
  readonly lines: readonly string[];
}): readonly Piece[] {
  const pieces: { line: number; parts: string[] }[] = [];
  let isCode = false;
  for (const [index, line] of comment.lines.entries()) {
    if (/^\s*```/.test(line)) {
      isCode = !isCode;
      continue;
    }
    // Skips formulas, tables and examples, which are indented by three spaces or more.
    if (isCode || line.trim() === "" || /^\s{3,}/.test(line) || /^\s*(?:\||@ts-|eslint|oxlint|#!)/.test(line))
      continue;
    if (pieces.length === 0 || /^\s*(?:@\w+|[*-] |\d+\. )/.test(line))
      pieces.push({ line: comment.line + index, parts: [] });
    pieces
      .at(-1)
      ?.parts.push(
        line.replace(/^\s*(?:@(?:param|property)\s+(?:\{[^}]*\}\s*)?\S+\s*|@\w+\s*|[*-] |\d+\. )/, ""),
      );
  }
  return pieces
    .map(({ line, parts }) => ({ line, text: plain(parts.join(" ")) }))
    .filter(({ text }) => text !== "");
}

/** Returns the prose of a source's comments, as one array of pieces for each comment. */
export function sourceComments(text: string): readonly (readonly Piece[])[] {
  return commentsOf(text).map(commentPieces);
}

const testName = /^\s*(?:await )?(?:\w+\.)?(?:test|it|describe)(?:\.\w+)?\(\s*"((?:[^"\\]|\\.)*)"/gm;

/** Returns the names of a source's tests that are written as strings. */
export function testNames(text: string): readonly Piece[] {
  return [...text.matchAll(testName)].map((match) => ({
    line: text.slice(0, match.index + match[0].indexOf('"')).split("\n").length,
    text: plain(match[1] ?? ""),
  }));
}
