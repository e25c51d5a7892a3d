// Announcements between servers on one database, so that a change is noticed immediately and not at the next poll. An
// announcement only says that there is something to look for; the database holds the truth. Listeners also poll, since
// an announcement may be lost with its server or connection.

export const announcedKinds = ["job-cancelled", "job-queued", "key-changed", "version-published"] as const;

/** Changed things: a job, a job, a key, and a model. */
export type AnnouncedKind = (typeof announcedKinds)[number];

export interface Announcements {
  /**
   * Calls `hear` after each change of this kind, including this server's own, until the returned function is called.
   * That function is idempotent.
   *
   * @param hear gets the id of the changed thing; null if announcements may have been missed, so that everything must
   * be checked. Must not throw
   */
  listen(kind: AnnouncedKind, hear: (id: string | null) => void): () => void;
}
