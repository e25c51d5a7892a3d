// Lets a client that still sends receive the answer that refuses its request. Closing a connection with unread bytes
// resets it and loses the answer; this module discards further bytes for a while, then ends the connection.
import type { IncomingMessage } from "node:http";
import { keyless } from "../../../base/domain/sharing/tenant-shares.ts";
import { forEachPiece } from "./gather-body.ts";

/** Maximum time for which a slow sender holds the connection. */
const lingerMs = 5000;

/** Ends the connection this way once its last answer has been written. */
export function lingerBeforeClose(request: IncomingMessage): void {
  const { socket } = request;
  // Node's server calls this after the last answer of a connection.
  socket.destroySoon = () => {
    const deadline = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(deadline));
    request.once("end", () => socket.destroy());
    request.once("error", () => socket.destroy());
    // Reads in turns, as for bodies that are used.
    void forEachPiece(request, keyless, () => undefined).catch(() => undefined);
    request.resume();
    socket.end();
  };
}
