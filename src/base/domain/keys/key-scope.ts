// What a key may be limited to: kinds of work, and one project.

/**
 * `chat` has models answer, `train` is for models, jobs and what they train on, `feedback` for what people and programs
 * say of answers, each with reading what it is about; `read` reads all of that and changes nothing.
 */
export const keyScopes = ["chat", "train", "feedback", "read"] as const;

export type KeyScope = (typeof keyScopes)[number];

/** Whom a thing belongs to: an entity, and one of its projects unless it is the whole entity's. */
export interface Owned {
  readonly entity: string;
  readonly project: string | null;
}
