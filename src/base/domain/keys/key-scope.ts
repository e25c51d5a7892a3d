// Scopes of a key: kinds of work, and optionally one project.

/**
 * `chat` asks models for answers, `train` manages models, jobs and training data, and `feedback` manages feedback and
 * traces. Each scope may also read what it manages. `read` reads everything and changes nothing.
 */
export const keyScopes = ["chat", "train", "feedback", "read"] as const;

export type KeyScope = (typeof keyScopes)[number];

/** Owner of a thing: an entity, and one of its projects unless the thing belongs to the whole entity. */
export interface Owned {
  readonly entity: string;
  readonly project: string | null;
}
