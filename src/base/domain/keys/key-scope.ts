// Scopes of an API key: the kinds of work that it permits, and optionally one project.

/**
 * Kinds of work that a key can permit.
 * * `chat`: ask models for answers.
 * * `train`: read and change models, jobs and training data.
 * * `feedback`: read and change feedback and traces.
 * * `read`: read everything, but change nothing.
 */
export const keyScopes = ["chat", "train", "feedback", "read"] as const;

export type KeyScope = (typeof keyScopes)[number];

/** Owner of data: an entity, and one of its projects, unless the data belongs to the whole entity. */
export interface Owned {
  readonly entity: string;
  readonly project: string | null;
}
