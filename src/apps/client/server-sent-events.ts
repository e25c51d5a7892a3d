// Parses a stream of server-sent events: the `data:` lines of the WHATWG format. Hone's streams need neither event ids
// nor event names.

/** Yields the data of each event. */
export async function* readServerSentEvents(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = "";
  let data: string[] = [];
  for await (const bytes of pieces) {
    pending += decoder.decode(bytes, { stream: true });
    const lines = pending.split("\n");
    pending = lines.pop() ?? "";
    for (const line of lines.map((text) => text.replace(/\r$/, ""))) {
      if (line === "") {
        if (data.length > 0) yield data.join("\n");
        data = [];
      } else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    }
  }
}
