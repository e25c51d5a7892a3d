// Handles an output whose reader has closed it, as in `hone … | head`: the command exits without an error. Work on a
// server that the command has started, such as a training job, continues.

/** Makes the process exit quietly with its current exit status once standard output or standard error is closed. */
export function exitOnClosedOutput(): void {
  onClosedOutput(() => process.exit(process.exitCode ?? 0));
}

/** Makes the process continue after an output is closed; further output is dropped. */
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
