// The buffers within a task or its result, for the list of what is transferred between threads rather than copied.

/** The buffers of all bytes in a value, each once, whatever lies in them. */
export function buffersOf(value: unknown): readonly ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  collect(value, found);
  return [...found];
}

function collect(value: unknown, found: Set<ArrayBuffer>): void {
  if (typeof value !== "object" || value === null) return;
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
    // A list of numbers or texts, of which there may be many, holds none.
  } else if (!Array.isArray(value) || typeof value[0] === "object")
    for (const member of Object.values(value)) collect(member, found);
}
