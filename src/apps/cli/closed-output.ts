// Handles an output that its reader has closed (`hone … | head`): the command exits without an error. Work that the
// command started on a server, such as a training job, continues there.

/** Makes the process exit quietly with its current exit status once standard output or standard error is closed. */
export function exitOnClosedOutput(): void {
  onClosedOutput(() => process.exit(process.exitCode ?? 0));
}

/** Makes the process continue if an output is closed, and drops its further output. */
export function ignoreClosedOutput(): void {
  onClosedOutput(() => undefined);
}

function onClosedOutput(act: () => void): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // Any other write error, such as a full disk, is a failure.
      if (error.code !== "EPIPE") throw error;
      act();
    });
}
