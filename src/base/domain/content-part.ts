// Parts of a message's content: which types hold text, and in which member. The wire format validates parts by these
// rules and the prompt renderer reads them; templates decide how to use the text.
import type { Json } from "./text/json.ts";

/** Member that holds the text of each type of part. */
const textMembers: Readonly<Record<string, string>> = {
  text: "text",
  input_text: "text",
  output_text: "text",
  refusal: "refusal",
  thinking: "thinking",
};

/** Returns the member that holds a part's text; null for types without text, such as media. */
export function textMemberOf(type: unknown): string | null {
  return typeof type === "string" && Object.hasOwn(textMembers, type) ? textMembers[type] : null;
}

/** Returns the text of a part, which may be a plain string; null if it has none. */
export function textOfPart(part: Json): string | null {
  if (typeof part === "string") return part;
  if (part === null || typeof part !== "object" || !("type" in part)) return null;
  const member = textMemberOf(part.type);
  const text = member === null ? null : part[member];
  return typeof text === "string" ? text : null;
}

/**
 * Joins the texts of a message's parts with line breaks, as templates see content that they show as text. Returns null
 * if there is no content, or a part without text.
 */
export function joinedText(content: Json): string | null {
  if (content === null || typeof content === "string") return content;
  if (!isList(content)) return null;
  const texts = content.map(textOfPart);
  return texts.includes(null) ? null : texts.join("\n");
}

function isList(content: Json): content is readonly Json[] {
  return Array.isArray(content);
}
