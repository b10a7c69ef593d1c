/ Publish and subscribe, with the names and messages that clients of kdb+tick expect.
/
Load it where the tables are defined, then call .u.init[].
  subscriber   h(`.u.sub;`trade;`)          all rows of trade, or of all tables if the name is `
               h(`.u.sub;`trade;`a`b)       rows with these symbols in column sym
  publisher    .u.pub[`trade;rows]          sends (`upd;`trade;rows) to each subscriber
               .u.end .z.d                  sends (`.u.end;date) to all
.u.w holds the subscriptions: for each table a list of (handle;symbols).
\
\d .u

init:{w::t!(count t::tables`.)#()}

del:{[table;handle] w[table]:w[table]where not handle=first each w table}

add:{[table;symbols]
  del[table;.z.w];
  w[table],:enlist(.z.w;symbols);
  (table;0#value table)}

sub:{[table;symbols]
  if[null table;:sub[;symbols]each t];
  if[not table in t;'table];
  add[table;symbols]}

sel:{[rows;symbols]$[`~symbols;rows;select from rows where sym in symbols]}

pub:{[table;rows]
  {[table;rows;s]if[count r:sel[rows;s 1];neg[s 0](`upd;table;r)]}[table;rows]each w table;}

end:{[date](neg distinct raze(first each)each value w)@\:(`.u.end;date);}

.z.pc:{[handle].u.del[;handle]each .u.t;}

\d .
