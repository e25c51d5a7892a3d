// Announcements between servers on one database, so that a server notices a change at once and not at its next poll. An
// announcement contains only an id; the listener reads the change from the database. Listeners also poll, because an
// announcement is lost if its server or connection fails.

export const announcedKinds = ["job-cancelled", "job-queued", "key-changed", "version-published"] as const;

/**
 * Kinds of announcements. `job-cancelled` and `job-queued` contain the id of a job, `key-changed` the id of a key, and
 * `version-published` the id of a model.
 */
export type AnnouncedKind = (typeof announcedKinds)[number];

export interface Announcements {
  /**
   * Calls `hear` after each change of this kind, even by this server. Returns an idempotent function that ends this.
   *
   * @param hear gets the id from the announcement; null if announcements may have been missed, so that everything must
   * be checked. Must not throw
   */
  listen(kind: AnnouncedKind, hear: (id: string | null) => void): () => void;
}
