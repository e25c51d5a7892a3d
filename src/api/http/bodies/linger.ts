// Lets a client that still sends have the answer that refuses what it sends. A connection that is closed with bytes unread is
// reset, and the answer is lost with it: so what comes is thrown away for a while, and the connection ends then.
import type { IncomingMessage } from "node:http";
import { keyless } from "../../../base/domain/sharing/tenant-shares.ts";
import { eachPiece } from "./gather-body.ts";

/** Whoever sends slowly holds the connection no longer than this. */
const lingerMs = 5000;

/** Has the connection end this way, once the answer is written that says that it is the last one. */
export function lingerFor(request: IncomingMessage): void {
  const { socket } = request;
  // What Node's server calls behind the last answer of a connection.
  socket.destroySoon = () => {
    const deadline = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(deadline));
    request.once("end", () => socket.destroy());
    request.once("error", () => socket.destroy());
    // In turns, as bodies are read that are wanted.
    void eachPiece(request, keyless, () => undefined).catch(() => undefined);
    request.resume();
    socket.end();
  };
}
