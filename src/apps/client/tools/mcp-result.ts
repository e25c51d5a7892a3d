// Converts the result of an MCP tool to text, because a model reads only text. Pure.

/** Returns the result's text; binary content is replaced by a note. */
export function textOfResult(result: unknown): { readonly text: string; readonly isError: boolean } {
  const { content, structuredContent, isError } = objectOf(result);
  const blocks = Array.isArray(content) ? content.map(textOfBlock) : [];
  // The protocol recommends repeating a structured result as text, so it is used only if there is no text.
  const text =
    blocks.length === 0 && structuredContent !== undefined
      ? JSON.stringify(structuredContent)
      : blocks.join("\n");
  return { text, isError: isError === true };
}

function textOfBlock(block: unknown): string {
  const { type, text, mimeType, resource, uri } = objectOf(block);
  if (type === "text") return String(text);
  if (type === "resource_link") return String(uri);
  const { text: resourceText, uri: resourceUri } = objectOf(resource);
  if (typeof resourceText === "string") return resourceText;
  return `[${String(mimeType ?? resourceUri ?? type)} is left out]`;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  // Safe cast: any object has these fields, or they are undefined.
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
