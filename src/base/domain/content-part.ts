// The parts of a message's content: which kinds hold text, and where. The wire checks parts with it and the prompt
// renderer reads them with it; nothing here knows what a template does with the text.
import type { Json } from "./text/json.ts";

/** Where the parts of each kind keep their text. */
const textMembers: Readonly<Record<string, string>> = {
  text: "text",
  input_text: "text",
  output_text: "text",
  refusal: "refusal",
  thinking: "thinking",
};

/** The member of a part of this type that holds its text; null for types that hold none, such as media. */
export function textMemberOf(type: unknown): string | null {
  return typeof type === "string" && Object.hasOwn(textMembers, type) ? textMembers[type] : null;
}

/** The text of a part, which may be a bare string; null where it holds none. */
export function textOfPart(part: Json): string | null {
  if (typeof part === "string") return part;
  if (part === null || typeof part !== "object" || !("type" in part)) return null;
  const member = textMemberOf(part.type);
  const text = member === null ? null : part[member];
  return typeof text === "string" ? text : null;
}

/**
 * The text of a message's content: its parts stand in lines of their own, as a template sees them that shows a text.
 * Null where there is no content, or a part that holds no text.
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
