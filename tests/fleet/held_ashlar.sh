#!/bin/sh
# ashlar ($ASHLAR), but merges stop: when a worker begins its third one, its process id goes into $GATE/worker, and from
# then on no merge goes on until $GATE/open is there. $GATE/merges has a line for each that began, with its worker.
trap "" INT  # so that Ctrl-C does not end it, but the end of its worker
if [ "$1 $2" = "tune profile" ] && [ "${5%.atrace}" = "$5" ]; then
  echo "$PPID" >>"$GATE/merges"
  if [ "$(grep -c "^$PPID\$" "$GATE/merges")" -ge 3 ] && mkdir "$GATE/held" 2>/dev/null; then
    echo "$PPID" >"$GATE/held/worker"
    mv "$GATE/held/worker" "$GATE/worker"
  fi
  while [ -e "$GATE/held" ] && [ ! -e "$GATE/open" ]; do sleep 0.02; done
fi
exec "$ASHLAR" "$@"
