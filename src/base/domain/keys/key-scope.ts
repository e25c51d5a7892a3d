// Scopes of a key: kinds of work, and optionally one project.

/**
 * `chat` allows asking models for answers, `train` managing models, jobs and training data, and `feedback` managing
 * feedback and traces. Each of these scopes also allows reading what it manages. `read` allows reading everything and
 * changing nothing.
 */
export const keyScopes = ["chat", "train", "feedback", "read"] as const;

export type KeyScope = (typeof keyScopes)[number];

/** Owner of a thing: an entity, and one of its projects unless the thing belongs to the whole entity. */
export interface Owned {
  readonly entity: string;
  readonly project: string | null;
}
