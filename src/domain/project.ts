// Projects, named `<entity>/<project>`: the first use by a key that may reach the entity brings one into being.

const projectIdPattern = /^([^/\s]{1,128})\/([^/\s]{1,128})$/;

/** Splits `<entity>/<project>`; null when the text is not of that form. */
export function parseProjectId(text: string): { readonly entity: string; readonly project: string } | null {
  const match = projectIdPattern.exec(text);
  return match ? { entity: match[1], project: match[2] } : null;
}
