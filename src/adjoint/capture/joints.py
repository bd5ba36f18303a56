"""Fills the hooks by which the traced array reaches what is done with it."""

from __future__ import annotations

from adjoint.base.settings import UNDER_WAY
from adjoint.capture.clones import callee, interception, rebinding
from adjoint.capture.clones.entering import users
from adjoint.capture.facts import remains, settled
from adjoint.capture.numpy import table
from adjoint.capture.numpy.indexing import assigning, indexing
from adjoint.capture.numpy.linalg import products
from adjoint.capture.numpy.operations import methods, ufuncs
from adjoint.capture.recording.effects import floating_point, texts
from adjoint.capture.recording.exits import entries, escape
from adjoint.capture.recording.memory import views
from adjoint.capture.recording.tracing import applying
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import current
from adjoint.capture.rounds import sites
from adjoint.capture.scipy import sparse

hooks.fill(
    alias=views.maybe_alias,
    as_operand=table.as_operand,
    attribute=methods.attribute,
    called=lambda function: callee.CALLEE @ function,
    clone=lambda function: rebinding.clone(function).call,
    defers=sparse.defers,
    entries=entries.entries,
    escape=escape.escape,
    function=table.call,
    get=indexing.get,
    is_excused=settled.is_excused,
    is_sparse=sparse.is_sparse,
    is_users_file=users.is_users_file,
    is_users_kind=users.is_users_kind,
    left_at=remains.left_at,
    left_in=remains.left_in,
    lift_list=applying.slot_of_list,
    matmul=sparse.matmul,
    noted_modes=floating_point.noted_modes,
    origins=escape.origins,
    overwrite=views.overwrite,
    power=ufuncs.power,
    reaches_traced=remains.reaches_traced,
    rebind=rebinding.rebind,
    rewritten=interception.rewritten,
    set=assigning.put,
    settled=escape.settled,
    set_shape=views.set_shape,
    show=escape.show,
    sparse_operand=sparse.as_traced,
    sparse_product=sparse.sparse_product,
    speaker=floating_point.Speaker,
    star=sparse.star,
    truth_in_rounds=sites.truth_in_rounds,
    ufunc=ufuncs.ufunc,
    unseen=texts.unseen,
    users_place=floating_point.users_place,
)
hooks.products.update(products.PRODUCTS)
UNDER_WAY.append(current)
