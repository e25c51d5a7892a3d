// Scopes of an API key: the kinds of work that it permits, and optionally one project.

/**
 * Kinds of work that a key can permit. `chat` permits asking models for answers, `train` reading and changing models,
 * jobs and training data, and `feedback` reading and changing feedback and traces. `read` permits reading everything
 * and changing nothing.
 */
export const keyScopes = ["chat", "train", "feedback", "read"] as const;

export type KeyScope = (typeof keyScopes)[number];

/** Owner of data: an entity, and one of its projects, unless the data belongs to the whole entity. */
export interface Owned {
  readonly entity: string;
  readonly project: string | null;
}
