// Handles a closed output (`hone … | head`): the command exits without an error. Work that it started on a server
// continues there.

/** Exits quietly with the current status once standard output or standard error is closed. */
export function exitOnClosedOutput(): void {
  onClosedOutput(() => process.exit(process.exitCode ?? 0));
}

/** Continues without a reader and drops further output. */
export function ignoreClosedOutput(): void {
  onClosedOutput(() => undefined);
}

function onClosedOutput(act: () => void): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // Any other error, such as a full disk, is a failure.
      if (error.code !== "EPIPE") throw error;
      act();
    });
}
