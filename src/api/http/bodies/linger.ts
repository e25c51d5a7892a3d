// Delivers a refusal to a client that is still sending its body. Closing a connection with unread bytes resets the
// connection, and the client loses the answer. So this module discards further bytes for a while, then closes the
// connection.
import type { IncomingMessage } from "node:http";
import { keyless } from "../../../base/domain/sharing/tenant-shares.ts";
import { forEachPiece } from "./gather-body.ts";

/** Maximum time for which a client that keeps sending holds the connection. */
const lingerMs = 5000;

/** Makes the request's connection discard further bytes for a while, then close, after its last answer. */
export function lingerBeforeClose(request: IncomingMessage): void {
  const { socket } = request;
  // Node's server calls `destroySoon` after a connection's last answer.
  socket.destroySoon = () => {
    const deadline = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(deadline));
    request.once("end", () => socket.destroy());
    request.once("error", () => socket.destroy());
    // Discarded bodies take turns, too, so that they do not delay other requests.
    void forEachPiece(request, keyless, () => undefined).catch(() => undefined);
    request.resume();
    socket.end();
  };
}
