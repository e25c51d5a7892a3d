// For tests: a DNS server on this machine, over UDP.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIP } from "node:net";
import type { TestContext } from "node:test";

export interface NameServer {
  /** Address of the DNS server, as `address:port`. */
  readonly address: string;
  /** Queried names in order of their first query, without duplicates. */
  readonly asked: readonly string[];
  /** Resolves once the name has been queried. */
  came(name: string): Promise<void>;
}

/**
 * Starts a DNS server, which listens until the test ends.
 *
 * @param names addresses by name; IPv6 addresses must have all eight groups. Queries for a "silent" name get no answer,
 * and names that are not listed do not exist
 */
export async function serveNames(
  context: TestContext,
  names: Readonly<Record<string, readonly string[] | "silent">>,
): Promise<NameServer> {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, { address, port }) => {
    const [name, end] = nameIn(query);
    if (!asked.includes(name)) asked.push(name);
    socket.emit("asked");
    const addresses = names[name];
    if (addresses === "silent") return;
    const family = query.readUInt16BE(end) === 1 ? 4 : 6;
    const records = (addresses ?? []).filter((text) => isIP(text) === family).map(recordOf);
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(addresses === undefined ? 0x8183 : 0x8180, 2);
    for (const [index, count] of [1, records.length, 0, 0].entries())
      header.writeUInt16BE(count, 4 + 2 * index);
    socket.send(Buffer.concat([header, query.subarray(12, end + 4), ...records]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  context.after(() => socket.close());
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    came: async (name) => {
      while (!asked.includes(name)) await once(socket, "asked");
    },
  };
}

/** Returns the name that a DNS query asks for, and the offset at which the name ends. */
function nameIn(query: Buffer): readonly [string, number] {
  const labels: string[] = [];
  let at = 12;
  while (query[at] !== 0) {
    const length = query[at] ?? 0;
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return [labels.join(".").toLowerCase(), at + 1];
}

function recordOf(address: string): Buffer {
  const isShort = isIP(address) === 4;
  const data = isShort
    ? Buffer.from(address.split(".").map(Number))
    : Buffer.from(
        address
          .split(":")
          .map((group) => group.padStart(4, "0"))
          .join(""),
        "hex",
      );
  // Head of a DNS answer record: pointer to the name in the question, type, class, time to live (60 s), length of the
  // data.
  const head = Buffer.from([0xc0, 12, 0, isShort ? 1 : 28, 0, 1, 0, 0, 0, 60, 0, data.length]);
  return Buffer.concat([head, data]);
}
