// Files of the two sites that are built for browsers: the dashboard at `/` and the guide at `/guide`.

/** Content encodings of files, the smallest first. `identity` means uncompressed. */
export const siteEncodings = ["br", "gzip", "identity"] as const;

export type SiteEncoding = (typeof siteEncodings)[number];

export interface SiteFile {
  readonly contentType: string;
  /** Bytes of the file in each encoding that the build has made. There is always `identity`. */
  readonly bytes: Readonly<Partial<Record<SiteEncoding, Uint8Array>>> & { readonly identity: Uint8Array };
}

/** Files of a site by path, such as `guides/keys.html`. Empty if the site was not built. */
export type SiteFiles = ReadonlyMap<string, SiteFile>;
