// References by which the API identifies the subject of feedback: a stored trajectory, or an answer that was just
// generated.

export interface Subject {
  /** Project as `<entity>/<project>`. */
  readonly projectId: string;
  readonly reference: string;
}

/**
 * Returns the subject for a call in a project.
 *
 * @param id id of a stored trajectory, or of a completion
 */
export function callIn(
  { entity, project }: { readonly entity: string; readonly project: string },
  id: string,
): Subject {
  return { projectId: `${entity}/${project}`, reference: `hone:///${entity}/${project}/call/${id}` };
}

/** Returns true if a record refers to one of the first `choiceCount` choices of a completion. */
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
 * Returns the reference for feedback on an answer of the model with this name. Answers of a base model belong to a
 * project with the base model's name.
 *
 * @param entity the user's entity, used if the name has none
 */
export function answerOf(model: string, id: string, entity: string): Subject {
  const parts = model
    .replace(/^[a-z][\w+.-]*:\/\/\//i, "")
    .replace(/:[^/:]*$/, "")
    .split("/");
  const [named, project] = parts.length === 3 ? parts : [entity, parts[0] ?? ""];
  // Replaces characters that a project's name cannot contain, such as slashes and spaces. Removes the prefix of the
  // completion's id, because the call has the id of the request. Otherwise, Hone would not find the recorded answer.
  return callIn(
    { entity: named ?? entity, project: (project ?? "").replaceAll(/[^\w.-]/g, "-") },
    id.replace(/^chatcmpl-/, ""),
  );
}
