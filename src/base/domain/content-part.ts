// Parts of a message's content: the types that contain text, and the member that has the text. The API validates parts
// by these rules, and the renderer of prompts reads them. Templates decide how to use the text.
import type { Json } from "./text/json.ts";

/** Name of the member that contains the text, by the type of the part. */
const textMembers: Readonly<Record<string, string>> = {
  text: "text",
  input_text: "text",
  output_text: "text",
  refusal: "refusal",
  thinking: "thinking",
};

/** Returns the name of the member that contains the text of a part; null for types without text, such as images. */
export function textMemberOf(type: unknown): string | null {
  return typeof type === "string" && Object.hasOwn(textMembers, type) ? textMembers[type] : null;
}

/** Returns the text of a part; null if it has none. A part may also be a plain string. */
export function textOfPart(part: Json): string | null {
  if (typeof part === "string") return part;
  if (part === null || typeof part !== "object" || !("type" in part)) return null;
  const member = textMemberOf(part.type);
  const text = member === null ? null : part[member];
  return typeof text === "string" ? text : null;
}

/**
 * Joins the texts of a message's parts with line breaks, in the form that templates receive. Returns null if there is
 * no content, or if a part has no text.
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
