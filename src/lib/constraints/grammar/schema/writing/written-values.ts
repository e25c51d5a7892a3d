// JSON values that have been written, one object per value: equal values are the same object. The order of members
// does not matter.

export interface WrittenValue {
  readonly type: "scalar" | "array" | "object";
  /** Unique number of the value. */
  readonly id: number;
  /** Text of a scalar; null for a scalar with unknown text, and for arrays and objects. */
  readonly text: string | null;
  readonly items: readonly WrittenValue[];
  readonly members: ReadonlyMap<string, WrittenValue>;
}

type Parts = Partial<Pick<WrittenValue, "text" | "items" | "members">>;

export class WrittenValues {
  readonly #known = new Map<string, WrittenValue>();
  #lastId = 0;

  /**
   * Returns the value of a scalar.
   *
   * @param text the only text in which the value is written
   */
  scalar(text: string): WrittenValue {
    return this.#of("scalar", text, { text });
  }

  array(items: readonly WrittenValue[]): WrittenValue {
    return this.#of("array", items.map(({ id }) => id).join(","), { items });
  }

  /**
   * Returns the value of an object.
   *
   * @param members values by the texts of their names
   */
  object(members: ReadonlyMap<string, WrittenValue>): WrittenValue {
    const named = [...members].map(([name, { id }]) => `${name}:${id}`);
    return this.#of("object", named.sort().join(","), { members });
  }

  /** Returns a scalar with an unknown text, which equals no other value. */
  unknown(): WrittenValue {
    return this.#new("scalar", {});
  }

  #of(type: WrittenValue["type"], content: string, parts: Parts): WrittenValue {
    const key = `${type} ${content}`;
    const known = this.#known.get(key) ?? this.#new(type, parts);
    this.#known.set(key, known);
    return known;
  }

  #new(type: WrittenValue["type"], { text = null, items = [], members = new Map() }: Parts): WrittenValue {
    this.#lastId += 1;
    return { type, id: this.#lastId, text, items, members };
  }
}
