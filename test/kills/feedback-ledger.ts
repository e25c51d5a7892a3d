// Records what clients know about the feedback that they wrote. Acknowledged writes must be stored. Unanswered writes
// may be stored completely or not at all.

/** Content of a record; null if it is deleted. */
export type Said = string | null;

/** Changes by one operation, which takes effect completely or not at all. */
export type Change = ReadonlyMap<string, Said>;

export class FeedbackLedger {
  /** Last acknowledged content of each record, by id. */
  readonly #acknowledged = new Map<string, Said>();
  readonly #unanswered = new Set<Change>();
  /** Minimum and maximum number of revisions that each record may have. */
  readonly revisions = new Map<string, { least: number; most: number }>();

  /** Notes that a request was sent. Until it is answered, it may have taken effect or not. */
  begin(change: Change, isReplacement = false): void {
    this.#unanswered.add(change);
    if (!isReplacement) return;
    for (const id of change.keys()) {
      const revisions = this.revisions.get(id) ?? { least: 0, most: 0 };
      revisions.most += 1;
      this.revisions.set(id, revisions);
    }
  }

  acknowledge(change: Change, isReplacement = false): void {
    this.#unanswered.delete(change);
    for (const [id, said] of change) {
      this.#acknowledged.set(id, said);
      const revisions = this.revisions.get(id);
      if (isReplacement && revisions !== undefined) revisions.least += 1;
      if (said === null) this.revisions.delete(id);
    }
  }

  get acknowledgedCount(): number {
    return this.#acknowledged.size;
  }

  /** Ids of all records that were created, including deleted ones. */
  get createdIds(): readonly string[] {
    return [...this.#acknowledged.keys()];
  }

  /** Ids of records that were created and later deleted. */
  get purgedIds(): readonly string[] {
    return [...this.#acknowledged].filter(([, said]) => said === null).map(([id]) => id);
  }

  /** Changes whose requests were never answered; each can be sent again. */
  get unanswered(): readonly Change[] {
    return [...this.#unanswered];
  }

  /**
   * Compares the ledger with the stored records. Afterwards, the stored records are the ledger's state.
   *
   * @param stored all stored records
   * @returns a description of each difference from what was acknowledged
   */
  compare(stored: readonly { readonly id: string; readonly said: string }[]): readonly string[] {
    const found = new Map(stored.map(({ id, said }) => [id, said]));
    const faults: string[] = [];
    if (found.size !== stored.length) faults.push(`${stored.length - found.size} records are there twice`);
    for (const change of this.#unanswered) {
      const done = [...change].filter(([id, said]) => (found.get(id) ?? null) === said);
      // Ignores records that the operation would have left unchanged. They do not show whether the operation took
      // effect.
      const happened = done.some(([id, said]) => (this.#acknowledged.get(id) ?? null) !== said);
      if (!happened) continue;
      if (done.length < change.size)
        faults.push(`of what was sent at once ${done.length} of ${change.size} are there`);
      for (const [id, said] of change) this.#acknowledged.set(id, said);
    }
    this.#unanswered.clear();
    for (const [id, said] of this.#acknowledged) {
      const is = found.get(id) ?? null;
      if (is !== said) faults.push(`${id} says ${is}, and was acknowledged with ${said}`);
      found.delete(id);
    }
    for (const id of found.keys()) faults.push(`${id} is there, and nobody sent it`);
    return faults;
  }
}
