/* The usual call of an annotated module, in C: a known module inside another one.

   deepprof_annotate.py does the same in Python, and does everything else: the first call of a module, stages, and
   programs that dynamo compiles. In a program whose kernels evict its caches a call through Python took 3 to 4
   microseconds more than without annotation; half of that is memory and code that Python touches for each step.

   One file for every CPython from 3.8 on (the stable ABI). NVTX is in headers: the library that a profiler injects is
   found by them at the first range. */
#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>
#ifdef DEEPPROF_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

/* A range that is, or was, open at one place. The rest of it is Python's (deepprof_annotate_ranges._Node). */
typedef struct Place {
	PyObject_HEAD
	PyObject *encoded;     /* bytes: the name of the range; NULL where none is opened */
	int level;             /* modules that are open while it is the innermost one */
	char pushed;           /* a range is opened */
	double per_element;    /* FLOPs by element of the first input; below 0 where count() of Python tells them */
	long long calls;       /* that ran at once */
	double flops;          /* of these calls */
	PyObject *below;       /* id(module) -> Place, a dict that owns what the table borrows */
	/* The same by address: open addressing, a power of two of slots, at least half of them free. */
	uintptr_t *modules;
	struct Place **places;
	size_t slots, used;
} Place;

typedef int (*push_function)(const char *);
typedef int (*pop_function)(void);

/* What is open on a thread. place is NULL before the first range: the root, then. */
static __thread struct {
	Place *place;
	long long ranges; /* pushed since the outermost module was entered */
	int capturing;    /* CUDA graphs */
} here;

static PyTypeObject *place_type, *call_type;
static PyObject *root;     /* Place */
static PyObject *original; /* torch's Module.__call__ */
static PyObject *python;   /* ours in Python */
static PyObject *count;    /* count(place, args, kwargs) of Python */
static PyObject *flags;    /* dict of torch.compiler, or NULL */
static PyObject *compiling_name, *numel_name;
static push_function push;
static pop_function pop;

static size_t slot_of(const Place *p, uintptr_t module)
{
	size_t i = (size_t)((module >> 4) * 0x9E3779B97F4A7C15ull >> 20) & (p->slots - 1);
	while (p->modules[i] != 0 && p->modules[i] != module)
		i = (i + 1) & (p->slots - 1);
	return i;
}

static Place *find(const Place *p, uintptr_t module)
{
	if (p->slots == 0)
		return NULL;
	size_t i = slot_of(p, module);
	return p->modules[i] == module ? p->places[i] : NULL;
}

static void empty(Place *p)
{
	PyMem_Free(p->modules);
	PyMem_Free(p->places);
	p->modules = NULL;
	p->places = NULL;
	p->slots = p->used = 0;
}

static int insert(Place *p, uintptr_t module, Place *below)
{
	if (2 * (p->used + 1) > p->slots) {
		Place old = *p;
		p->slots = old.slots ? 2 * old.slots : 8;
		p->modules = PyMem_Calloc(p->slots, sizeof *p->modules);
		p->places = PyMem_Calloc(p->slots, sizeof *p->places);
		if (p->modules == NULL || p->places == NULL) {
			PyMem_Free(p->modules);
			PyMem_Free(p->places);
			p->modules = old.modules;
			p->places = old.places;
			p->slots = old.slots;
			PyErr_NoMemory();
			return -1;
		}
		for (size_t i = 0; i < old.slots; i++)
			if (old.modules[i]) {
				size_t at = slot_of(p, old.modules[i]);
				p->modules[at] = old.modules[i];
				p->places[at] = old.places[i];
			}
		PyMem_Free(old.modules);
		PyMem_Free(old.places);
	}
	size_t i = slot_of(p, module);
	if (p->modules[i] == 0)
		p->used++;
	p->modules[i] = module;
	p->places[i] = below;
	return 0;
}

/* The table again from the dict: modules that are gone are rare. */
static int rebuild(Place *p)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;
	empty(p);
	while (PyDict_Next(p->below, &at, &key, &value)) {
		uintptr_t module = (uintptr_t)PyLong_AsVoidPtr(key);
		if (module == 0 && PyErr_Occurred())
			return -1;
		if (insert(p, module, (Place *)value))
			return -1;
	}
	return 0;
}

static PyObject *place_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	(void)args, (void)kwargs;
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	Place *p = (Place *)alloc(type, 0); /* zeroed */
	if (p == NULL)
		return NULL;
	p->pushed = 1;
	p->below = PyDict_New();
	if (p->below == NULL) {
		Py_DECREF(p);
		return NULL;
	}
	return (PyObject *)p;
}

static int place_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	(void)self, (void)args, (void)kwargs;
	return 0;
}

static void place_free(PyObject *self)
{
	Place *p = (Place *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	Py_CLEAR(p->encoded);
	Py_CLEAR(p->below);
	empty(p);
	release(self);
	Py_DECREF(type);
}

static PyObject *place_put(PyObject *self, PyObject *args)
{
	Place *p = (Place *)self;
	PyObject *key, *below;
	if (!PyArg_ParseTuple(args, "OO!", &key, place_type, &below))
		return NULL;
	int replaces = PyDict_GetItem(p->below, key) != NULL;
	uintptr_t module = (uintptr_t)PyLong_AsVoidPtr(key);
	if (PyErr_Occurred() || PyDict_SetItem(p->below, key, below))
		return NULL;
	if (replaces ? rebuild(p) : insert(p, module, (Place *)below))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *place_drop(PyObject *self, PyObject *key)
{
	Place *p = (Place *)self;
	PyObject *found = PyDict_GetItem(p->below, key);
	if (found != NULL) {
		Py_INCREF(found); /* until the table no longer has it */
		int failed = PyDict_DelItem(p->below, key) || rebuild(p);
		Py_DECREF(found);
		if (failed)
			return NULL;
	}
	Py_RETURN_NONE;
}

static PyObject *place_clear(PyObject *self, PyObject *none)
{
	(void)none;
	empty((Place *)self);
	PyDict_Clear(((Place *)self)->below);
	Py_RETURN_NONE;
}

static PyMemberDef place_members[] = {
	{"by_module", T_OBJECT, offsetof(Place, below), READONLY, NULL},
	{"encoded", T_OBJECT, offsetof(Place, encoded), 0, NULL},
	{"level", T_INT, offsetof(Place, level), 0, NULL},
	{"pushed", T_BOOL, offsetof(Place, pushed), 0, NULL},
	{"per_element", T_DOUBLE, offsetof(Place, per_element), 0, NULL},
	{"calls", T_LONGLONG, offsetof(Place, calls), 0, NULL},
	{"flops", T_DOUBLE, offsetof(Place, flops), 0, NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyMethodDef place_methods[] = {
	{"put", place_put, METH_VARARGS, NULL},
	{"drop", place_drop, METH_O, NULL},
	{"clear", place_clear, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot place_slots[] = {
	{Py_tp_new, place_new}, {Py_tp_init, place_init}, {Py_tp_dealloc, place_free}, {Py_tp_members, place_members}, {Py_tp_methods, place_methods}, {0, NULL},
};

static PyType_Spec place_spec = {"deepprof_native.Place", sizeof(Place), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, place_slots};

/* Adds one call to a place. Errors are the program's own to find: it goes on to call the module. */
static void add_call(Place *p, PyObject *args, PyObject *kwargs)
{
	PyObject *done;
	if (p->per_element < 0 || here.capturing) {
		done = PyObject_CallFunctionObjArgs(count, (PyObject *)p, args, kwargs ? kwargs : Py_None, NULL);
	} else if (p->per_element == 0) {
		p->calls++;
		return;
	} else {
		PyObject *given = PyTuple_Size(args) > 1 ? PyTuple_GetItem(args, 1) : NULL;
		if (given == NULL) /* an input by name */
			return;
		done = PyObject_CallMethodObjArgs(given, numel_name, NULL);
		if (done != NULL && PyLong_Check(done)) {
			p->flops += p->per_element * (double)PyLong_AsLongLong(done);
			p->calls++;
		}
	}
	if (done == NULL || PyErr_Occurred())
		PyErr_Clear();
	Py_XDECREF(done);
}

/* Module.__call__: args begins with the module. */
static PyObject *call_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	(void)self;
	Place *above = here.place, *place = NULL;
	if (above != NULL && above->level > 0 && PyTuple_Size(args) > 0) {
		PyObject *compiling = flags ? PyDict_GetItem(flags, compiling_name) : NULL;
		if (compiling == NULL || compiling == Py_False)
			place = find(above, (uintptr_t)PyTuple_GetItem(args, 0));
	}
	if (place == NULL)
		return PyObject_Call(python, args, kwargs);
	char pushed = place->pushed;
	Py_INCREF(place);
	here.place = place;
	if (pushed) {
		here.ranges++;
		push(PyBytes_AsString(place->encoded));
		add_call(place, args, kwargs);
	}
	PyObject *result = PyObject_Call(original, args, kwargs);
	here.place = above;
	if (pushed)
		pop();
	Py_DECREF(place);
	return result;
}

/* module.__call__ and Module.__call__ are the function in Python, as dynamo and others that look at code expect; a call
   of a module does not come by here. */
static PyObject *call_get(PyObject *self, PyObject *instance, PyObject *type)
{
	(void)self;
	descrgetfunc get = (descrgetfunc)PyType_GetSlot(Py_TYPE(python), Py_tp_descr_get);
	return get(python, instance, type);
}

static PyType_Slot call_slots[] = {{Py_tp_call, call_call}, {Py_tp_descr_get, call_get}, {0, NULL}};

#ifndef Py_TPFLAGS_METHOD_DESCRIPTOR
#define Py_TPFLAGS_METHOD_DESCRIPTOR (1UL << 17)
#endif
static PyType_Spec call_spec = {"deepprof_native.Call", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_METHOD_DESCRIPTOR, call_slots};

/* The state of the thread, for Python: the getters and setters of properties, whose object says nothing. */

static PyObject *get_place(PyObject *module, PyObject *object)
{
	(void)module, (void)object;
	PyObject *p = here.place ? (PyObject *)here.place : root;
	Py_INCREF(p);
	return p;
}

static PyObject *set_place(PyObject *module, PyObject *args)
{
	(void)module;
	PyObject *place = PyTuple_GetItem(args, 1);
	if (place == NULL)
		return NULL;
	if (!PyObject_TypeCheck(place, place_type)) {
		PyErr_SetString(PyExc_TypeError, "no Place");
		return NULL;
	}
	here.place = (Place *)place; /* the tree of places keeps it */
	Py_RETURN_NONE;
}

static PyObject *get_ranges(PyObject *module, PyObject *object)
{
	(void)module, (void)object;
	return PyLong_FromLongLong(here.ranges);
}

static PyObject *set_ranges(PyObject *module, PyObject *args)
{
	(void)module;
	if (!PyArg_ParseTuple(args, "OL", &module, &here.ranges))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *get_capturing(PyObject *module, PyObject *object)
{
	(void)module, (void)object;
	return PyLong_FromLong(here.capturing);
}

static PyObject *set_capturing(PyObject *module, PyObject *args)
{
	(void)module;
	if (!PyArg_ParseTuple(args, "Oi", &module, &here.capturing))
		return NULL;
	Py_RETURN_NONE;
}

/* install(root, original, python, count, flags, push, pop): push and pop are addresses, 0 for NVTX of the headers. Returns
   what is to be Module.__call__. */
static PyObject *install(PyObject *module, PyObject *args)
{
	(void)module;
	PyObject *given[5];
	unsigned long long pushes, pops;
	if (!PyArg_ParseTuple(args, "O!OOOOKK", place_type, &given[0], &given[1], &given[2], &given[3], &given[4], &pushes, &pops))
		return NULL;
#ifdef DEEPPROF_NVTX
	push = pushes ? (push_function)(uintptr_t)pushes : nvtxRangePushA;
	pop = pops ? (pop_function)(uintptr_t)pops : nvtxRangePop;
#else
	push = (push_function)(uintptr_t)pushes;
	pop = (pop_function)(uintptr_t)pops;
#endif
	if (push == NULL || pop == NULL) {
		PyErr_SetString(PyExc_ValueError, "no NVTX");
		return NULL;
	}
	for (int i = 0; i < 5; i++)
		Py_INCREF(given[i]);
	root = given[0], original = given[1], python = given[2], count = given[3];
	flags = PyDict_Check(given[4]) ? given[4] : NULL;
	return PyObject_CallObject((PyObject *)call_type, NULL);
}

static PyMethodDef functions[] = {
	{"install", install, METH_VARARGS, NULL},
	{"get_place", get_place, METH_O, NULL},
	{"set_place", set_place, METH_VARARGS, NULL},
	{"get_ranges", get_ranges, METH_O, NULL},
	{"set_ranges", set_ranges, METH_VARARGS, NULL},
	{"get_capturing", get_capturing, METH_O, NULL},
	{"set_capturing", set_capturing, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "deepprof_native", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_deepprof_native(void)
{
	PyObject *module = PyModule_Create(&definition);
	if (module == NULL)
		return NULL;
	place_type = (PyTypeObject *)PyType_FromSpec(&place_spec);
	call_type = (PyTypeObject *)PyType_FromSpec(&call_spec);
	compiling_name = PyUnicode_InternFromString("_is_compiling_flag");
	numel_name = PyUnicode_InternFromString("numel");
	if (place_type == NULL || call_type == NULL || compiling_name == NULL || numel_name == NULL || PyModule_AddObject(module, "Place", (PyObject *)place_type) < 0
#ifdef DEEPPROF_SOURCE
	    || PyModule_AddStringConstant(module, "SOURCE", DEEPPROF_SOURCE) < 0
#endif
	) {
		Py_DECREF(module);
		return NULL;
	}
	Py_INCREF(place_type);
	return module;
}
