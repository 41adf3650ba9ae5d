/** The library: everything that the archive knows, for people and programs. */

import type { LibraryChange } from "./events.js";
import { LibraryMethods } from "./library-methods.js";

/** What to receive of the changes of the library. */
export interface StreamOptions {
  /** Start after the change with this `position`. Default: now. */
  after?: string;
  /** Aborting it ends the loop. */
  signal?: AbortSignal;
}

/** The library of the realm. `Client.library` is one. */
export class Library extends LibraryMethods {
  /**
   * What changes in the library, as it happens. Over HTTP only. Starts now, or after the change whose `position` is `after`.
   * After a broken connection it continues where it stopped.
   */
  stream(options: StreamOptions = {}): AsyncGenerator<LibraryChange, void, undefined> {
    return this.transport.changes(options);
  }
}
