// The tokens of a template, for its parser.

import { unreachable } from "../../../base/domain/assert.ts";

export type Token = { readonly line: number } &
  /** Kinds: literal text between tags, the beginning or end of a tag, and the end of the template. */
  (
    | { readonly kind: "data"; readonly text: string }
    | { readonly kind: "print-begin" | "print-end" | "block-begin" | "block-end" | "end" }
    | { readonly kind: "name"; readonly text: string }
    | { readonly kind: "string"; readonly text: string }
    | { readonly kind: "number"; readonly value: bigint | number }
    | { readonly kind: "operator"; readonly text: string }
  );

/** Describes a token, for messages. */
export function describeToken(token: Token): string {
  switch (token.kind) {
    case "name":
    case "operator":
      return `'${token.text}'`;
    case "string":
      return "a string";
    case "number":
      return "a number";
    case "data":
      return "text";
    case "print-begin":
      return "'{{'";
    case "print-end":
      return "the end of '}}'";
    case "block-begin":
      return "'{%'";
    case "block-end":
      return "the end of '%}'";
    case "end":
      return "the end of the template";
    default:
      return unreachable(token);
  }
}
