// What feedback on the page is on: a stored trajectory, or an answer that was just given, as a reference of the API.

export interface Subject {
  /** `<entity>/<project>`. */
  readonly projectId: string;
  readonly reference: string;
}

/** @param id of the row of a stored trajectory, or of a completion */
export function callIn(
  { entity, project }: { readonly entity: string; readonly project: string },
  id: string,
): Subject {
  return { projectId: `${entity}/${project}`, reference: `hone:///${entity}/${project}/call/${id}` };
}

/** True if a record is on one of the first `choiceCount` choices of its call. */
export function isOnChoice(
  { vendor_ref: reference }: { readonly vendor_ref: string },
  choiceCount: number,
): boolean {
  const index = /^[^/]*:\/\/\/[^/]+\/[^/]+\/call\/[^/]+\/attr\/choices\/index\/(\d+)(?:\/|$)/.exec(
    reference,
  )?.[1];
  return index !== undefined && Number(index) < choiceCount;
}

/**
 * An answer of a model by its name in a chat. What a base model said counts as of a project of its name.
 *
 * @param entity of whoever asked, where the name has none
 */
export function answerOf(model: string, id: string, entity: string): Subject {
  const parts = model
    .replace(/^[a-z][\w+.-]*:\/\/\//i, "")
    .replace(/:[^/:]*$/, "")
    .split("/");
  const [named, project] = parts.length === 3 ? parts : [entity, parts[0] ?? ""];
  // A project has no blanks, and a reference no more parts.
  return callIn({ entity: named ?? entity, project: (project ?? "").replaceAll(/[^\w.-]/g, "-") }, id);
}
