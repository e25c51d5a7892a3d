// API references of feedback subjects: a stored trajectory, or a fresh answer.

export interface Subject {
  /** `<entity>/<project>`. */
  readonly projectId: string;
  readonly reference: string;
}

/** @param id id of a stored trajectory's row, or of a completion */
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
 * Returns the subject of a model's answer, by its name in a chat. An answer of a base model belongs to a project named
 * after it.
 *
 * @param entity the user's entity, for names without one
 */
export function answerOf(model: string, id: string, entity: string): Subject {
  const parts = model
    .replace(/^[a-z][\w+.-]*:\/\/\//i, "")
    .replace(/:[^/:]*$/, "")
    .split("/");
  const [named, project] = parts.length === 3 ? parts : [entity, parts[0] ?? ""];
  // A project name has no spaces, and a reference no more parts.
  return callIn({ entity: named ?? entity, project: (project ?? "").replaceAll(/[^\w.-]/g, "-") }, id);
}
