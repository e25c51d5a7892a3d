// Reads a stream of server-sent events (the `data:` lines of the WHATWG format; ids and event names are not used
// here).

/** Yields the data of every event in the bytes. */
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
