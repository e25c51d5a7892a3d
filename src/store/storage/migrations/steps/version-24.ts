// To version 24: records of feedback that were replaced are numbered anew, for who comes back for what changed.

/** Beside those of version 21. The index holds the records that were replaced, and costs the others nothing. */
export const replacedOrder: readonly string[] = [
  "alter table feedback add column replaced_sequence bigint",
  `create unique index feedback_as_replaced on feedback (project_id, replaced_sequence)
    where replaced_sequence is not null`,
];
