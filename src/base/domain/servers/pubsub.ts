// What one server on a database changed and others want to know at once, instead of when they look the next time. It only
// says that there is something to look for: what holds is in the database, and whoever listens looks there by itself too,
// since an announcement may be lost with its server, or with a connection.

export const announcedKinds = ["job-cancelled", "job-queued", "key-changed", "version-published"] as const;

/** What happened: to a job, a job, a key, and a model. */
export type AnnouncedKind = (typeof announcedKinds)[number];

export interface Announcements {
  /**
   * Calls `hear` after each change of this kind, also after this server's own, until the function that it returns is called;
   * calling that twice is harmless.
   *
   * @param hear gets the id of what it happened to; null where some may have been missed, so that all has to be looked at.
   *   Must not throw
   */
  listen(kind: AnnouncedKind, hear: (id: string | null) => void): () => void;
}
